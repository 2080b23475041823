"""The words of the method that a policy asks for: a module of each, named by the field that asks for it.

The registry of methods is not asked: a command that only shows a release must not load numpy.
"""

from importlib import import_module
from pkgutil import iter_modules

from tableveil.v1 import policy_pb2
from tableveil.wording.methods.words import MethodWords

_WITH_WORDS = frozenset(module.name for module in iter_modules(__path__))


def method_promise(policy: policy_pb2.Policy) -> str:
    """The promise of the policy's method, or an empty text."""
    if not (stated := method_words(policy).promise):
        return ""
    options = getattr(policy, _field(policy))
    return stated.format(**{option.name: getattr(options, option.name) for option in options.DESCRIPTOR.fields})


def method_words(policy: policy_pb2.Policy) -> MethodWords:
    """The words of the method that changes quasi-identifiers."""
    words: MethodWords = import_module(f"{__name__}.{_field(policy) or 'full_domain'}").WORDS
    return words


def _field(policy: policy_pb2.Policy) -> str:
    """The field that asks for the method, or an empty text."""
    return next((field.name for field, _ in policy.ListFields() if field.name in _WITH_WORDS), "")
