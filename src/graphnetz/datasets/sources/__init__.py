"""Where datasets come from: readers of public raw files, each through the safe download layer.

Nothing is imported here, so that datasets can be listed without torch.
"""
