"""Tensor2Tensor's files: checkpoints, run directories, vocabularies and data directories."""
