"""Text: records of files, tokens, and the encoders between text and ids.

Nothing here imports TensorFlow but `graph_encoder`, which is the subword encoder as graph ops.
"""
