"""Related tables in the database: reads people and their events, and writes what the repair leaves of them.

Rows are staged once, in temporary tables whose order numbers them: arrays of codes go to the search, and a mask comes
back.
"""
