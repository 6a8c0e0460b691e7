"""The one error of this package: something that its user can put right."""


class FgsmError(ValueError):
    """Bad input, told in one sentence: what it was, what was expected, what came.

    The command line prints the sentence and exits with code 2; a Python caller catches it
    as a ``ValueError``.
    """

    __init__ = Exception.__init__  # so AutoGraph re-raises it as what it is, not wrapped
