"""What to learn: one module a task.

Each module registers its problems (`register_problem`), so `keras_transformer.problem(name)` finds
them; a user's own come in with `--usr_dir`.
"""
