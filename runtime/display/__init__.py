"""What a person sees while a run goes on: a bar on a terminal, lines anywhere else. Goes to stderr."""
