"""What an agent is told, and how: the framing of every prompt. Pure: it reads no clock, file or network."""
