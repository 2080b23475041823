"""The words of full-domain generalization, the method of a policy that asks for no other."""

from tableveil.wording.methods.words import MethodWords

WORDS = MethodWords(name="full-domain generalization", does="every column has one level for all records")
