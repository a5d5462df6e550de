import Testing

/// Nodes of this process, on loopback: one test after the other, for they measure time and traffic.
@Suite(.serialized) struct NodeTests {}
