import Testing

/// Nodes of this process, on loopback: one test after the other, for they count traffic. What hangs
/// gets a name; the limit is for a machine that runs all tests at once.
@Suite(.serialized, .timeLimit(.minutes(5))) struct NodeTests {}
