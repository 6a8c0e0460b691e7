"""TensorFlow and Keras, imported once: quietly, on the TensorFlow backend, in float32.

    from .backend import keras, tf

A machine's ``~/.keras/keras.json`` or ``KERAS_BACKEND`` could choose another backend or float
type, and so another number; they are not read, and none is written. TensorFlow prints notes
to file descriptor 2 while it is imported, whatever its log level; they are held back and
shown only if the import fails.
"""

import contextlib
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from .errors import FgsmError


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Hold back what is written to file descriptor 2; replay it if the block fails."""
    try:
        kept = os.dup(2)
    except OSError:  # no standard error at all: nothing to hold back
        yield
        return
    try:
        holder = tempfile.TemporaryFile()  # noqa: SIM115 - entered below
    except OSError:  # a file system that is read-only throughout
        os.close(kept)
        yield
        return
    with holder as held:
        if sys.stderr is not None:
            sys.stderr.flush()
        os.dup2(held.fileno(), 2)
        try:
            yield
        except ImportError:
            held.seek(0)
            os.write(kept, held.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _import() -> tuple[Any, Any]:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with _environment(KERAS_BACKEND="tensorflow", KERAS_HOME=os.devnull + "/keras"):
        import keras
        import tensorflow
    if keras.config.backend() != "tensorflow":
        raise FgsmError(
            "Keras is already loaded on another backend; expected tensorflow. "
            f"Received: {keras.config.backend()}"
        )
    return tensorflow, keras


if "tensorflow" in sys.modules:
    tf, keras = _import()
else:
    with _quiet_stderr():
        tf, keras = _import()


@contextlib.contextmanager
def unremarked() -> Iterator[None]:
    """Without what Keras and TensorFlow remark on a network: it is told of in words of ours."""
    logger = logging.getLogger("absl")
    before = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(before)


Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """The function as one graph: traced on its first call, not rewritten, not traced per shape."""
    graph: Function = tf.function(function, autograph=False, reduce_retracing=True)
    return graph


def compiled_for(function: Function, *signature: Any) -> Function:
    """The function as one graph, traced once for arguments of this signature: here and now.

    Inside a user's own ``tf.function`` it is traced when called, as part of that.
    """
    graph = tf.function(function, autograph=False, input_signature=signature)
    known: Function = graph.get_concrete_function() if tf.executing_eagerly() else graph
    return known


def as_written(function: Function) -> Function:
    """The function left alone by AutoGraph when a user's own ``tf.function`` calls it."""
    same: Function = tf.autograph.experimental.do_not_convert(function)
    return same
