"""Watches: what to wait for, when it counts, and the waiting itself.

This package knows files and time. It never knows the relay, its ledger, rooms, agents or people: it is handed
specifications, and hands fires back to the callbacks it was given. `spec` and `gate` are pure.
"""
