"""Live notebooks: what people change in them, and what an agent reads and writes there. Nothing of it is here yet.

This package will know notebook documents and kernels, and never the relay.
"""
