"""Al Moakar 2013: class-based scheduling."""

from headgate.reproduction import Document

DOCUMENT = Document(
    "almoakar",
    "Al Moakar 2013",
    "The document prints neither costs nor queries, only how many queries of which kinds each class has. Chosen are "
    "the ratios of costs, and costs such that tuples alone ask for 0.75 of the cores where the document has the "
    "knee of overload at 1600 tuples a second (figure 83), elsewhere for 0.85. Calibrated on figure 75: overheads "
    "of calls are such that the weighted response time of 5S is the published 2.1 to 2.2 ms. Sources are read in "
    "turn by a core of their own, in A to C by the only core when nothing else waits. Response times of windows "
    "count from their end, since waiting for the tuple that closes one is what makes a class with fewer tuples "
    "slower (section 6.3.3).",
)
