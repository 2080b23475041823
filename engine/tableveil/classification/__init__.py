"""How well classifiers that are trained on a release predict the class of the people it was made from.

`tableveil.classification.assess` is imported where it is needed: scikit-learn takes seconds to load.
"""

from tableveil.classification.model import Assessment, Chosen, ClassifiedRecords, Feature, FeatureValues
