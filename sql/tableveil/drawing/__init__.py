"""The classes of a table whose rows are drawn, and the rows that chance left of them."""

from tableveil.drawing.classes import ColumnValues, check_people, combinations, read_values, write_drawn
