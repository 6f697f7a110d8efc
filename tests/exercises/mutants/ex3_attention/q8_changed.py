"""Question 8, three sets of positions. The cells are answers; test_mutants.py says how they are marked."""
# ruff: noqa: E402

# %% wrong: the replaced position alone changes in the causal layer
# fails: q8_causal
# says: changed_causal is not right
changed_causal = {2}
changed_bidirectional = {0, 1, 2, 3, 4, 5}
changed_padding = {5}

# %% wrong: strictly later positions change in the causal layer
# fails: q8_causal
# says: changed_causal is not right
changed_causal = {3, 4, 5}
changed_bidirectional = {0, 1, 2, 3, 4, 5}
changed_padding = {5}

# %% wrong: earlier positions change in the causal layer
# fails: q8_causal
# says: changed_causal is not right
changed_causal = {0, 1, 2}
changed_bidirectional = {0, 1, 2, 3, 4, 5}
changed_padding = {5}

# %% wrong: the replaced position does not see itself
# fails: q8_bidirectional
# says: changed_bidirectional is not right
changed_causal = {2, 3, 4, 5}
changed_bidirectional = {0, 1, 3, 4, 5}
changed_padding = {5}

# %% wrong: only the replaced position changes in the bidirectional layer
# fails: q8_bidirectional
# says: changed_bidirectional is not right
changed_causal = {2, 3, 4, 5}
changed_bidirectional = {2}
changed_padding = {5}

# %% wrong: padding is not there at all
# fails: q8_padding
# says: changed_padding is not right
changed_causal = {2, 3, 4, 5}
changed_bidirectional = {0, 1, 2, 3, 4, 5}
changed_padding = set()

# %% wrong: padding counts like a token
# fails: q8_padding
# says: changed_padding is not right
changed_causal = {2, 3, 4, 5}
changed_bidirectional = {0, 1, 2, 3, 4, 5}
changed_padding = {0, 1, 2, 3, 4, 5}

# %% wrong: padding positions see each other
# fails: q8_padding
# says: changed_padding is not right
changed_causal = {2, 3, 4, 5}
changed_bidirectional = {0, 1, 2, 3, 4, 5}
changed_padding = {4, 5}

# %% wrong: braces for the empty set
# fails: q8_padding
# says: The empty set is set()
changed_causal = {2, 3, 4, 5}
changed_bidirectional = {0, 1, 2, 3, 4, 5}
changed_padding = {}

# %% wrong: a text instead of a set
# fails: q8_causal
# says: expected a set such as {0, 3}, got str
changed_causal = "2, 3, 4, 5"
changed_bidirectional = {0, 1, 2, 3, 4, 5}
changed_padding = {5}

# %% wrong: positions counted from 1
# fails: q8_causal q8_bidirectional q8_padding
# says: positions are whole numbers from 0 to 5
changed_causal = {3, 4, 5, 6}
changed_bidirectional = {1, 2, 3, 4, 5, 6}
changed_padding = {6}

# %% right: lists and ranges
changed_causal = [2, 3, 4, 5]
changed_bidirectional = set(range(6))
changed_padding = (5,)

# %% right: numbers of NumPy, as a comparison of outputs gives them
import numpy as np

changed_causal = set(np.arange(2, 6))
changed_bidirectional = set(np.arange(6))
changed_padding = {np.int64(5)}

# %% right: frozen sets
changed_causal = frozenset({2, 3, 4, 5})
changed_bidirectional = frozenset(range(6))
changed_padding = frozenset({5})
