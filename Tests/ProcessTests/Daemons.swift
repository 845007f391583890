import Testing

/// Tests of running daemons, one after the other: each has several processes, and the machine few processors.
@Suite(.serialized) enum Daemons {}
