"""Dictionaries: the distinct values of columns that are counted with codes, labels, groups and positions."""

from tableveil.dictionary.aggregated import AggregatedDictionary, build_aggregated
from tableveil.dictionary.build import Dictionary, build_dictionary, read_together, value_texts
from tableveil.dictionary.joint import JointDictionary, build_joint
from tableveil.dictionary.listed import listed_levels, new_hierarchy
from tableveil.dictionary.pairs import PairsDictionary, build_pairs, pair_codes
from tableveil.dictionary.people import PeopleDictionary, UnitsDictionary, build_people, build_units
from tableveil.dictionary.preview import Coverage, Preview, PreviewRequest, preview_hierarchy
from tableveil.dictionary.sensitive import SensitiveDictionary, build_sensitive
