"""Stores: bytes in, bytes out, nothing of evolution."""
