"""The record: interactions, their canonical form, the stores, the engine that folds them, and the leases.

This room knows no behaviour: what a verb means stands in `relay/behaviours`.
"""
