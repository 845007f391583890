import Testing

/// Tests of running daemons, one after the other. Each has several processes, and the machine has few processors.
@Suite(.serialized) enum Daemons {}
