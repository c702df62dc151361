"""A relay between people and coding agents: messages and watches become turns, replies are posted back."""

__version__ = "0.1.0"
