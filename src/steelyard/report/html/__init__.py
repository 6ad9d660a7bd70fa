"""One HTML file that holds a whole report: readable without scripts, usable with them, and without any network.

`write.write_page` writes it, from parts that each lay out one piece of the view model. This package loads nothing by
itself.
"""
