"""What a watch can wait for. Each source lives one run and hands its fires to the supervisor; none knows
another.
"""
