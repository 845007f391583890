import MeshReplication
import MeshTransport

/// The open connections, with the reasons given for their end.
final class Connections {
  private struct Connection {
    let link: Link
    var reason: String?
  }

  private var connections: [LinkID: Connection] = [:]
  /// The connections whose peers the replica has not identified yet.
  private var unmet: Set<LinkID> = []
  private var dialled: [LinkID: HostPort] = [:]
  private var last: UInt64 = 0
  private let addresses: AddressBook

  init(_ addresses: AddressBook) { self.addresses = addresses }

  var isEmpty: Bool { connections.isEmpty }

  func add(_ link: Link, dialled: HostPort?) -> LinkID {
    last += 1
    let id = LinkID(last)
    connections[id] = Connection(link: link)
    unmet.insert(id)
    if let dialled {
      self.dialled[id] = dialled
      addresses.answered(dialled)
    }
    return id
  }

  /// Returns the reason for the end of the removed connection.
  func remove(_ id: LinkID) -> String? {
    let ended = connections.removeValue(forKey: id)
    unmet.remove(id)
    dialled[id] = nil
    return ended?.reason ?? ended?.link.closeReason?.message
  }

  /// Returns whether neither side has ended the connection.
  func isOpen(_ id: LinkID) -> Bool { connections[id].map { $0.link.closeReason == nil } ?? false }

  func send(_ bytes: [UInt8], to id: LinkID) { connections[id]?.link.send(bytes) }

  /// Ends a connection. The reason that the replica gives counts for the dialler, even if the peer was faster.
  func close(_ id: LinkID, because reason: String, isFromReplica: Bool = false) {
    if isFromReplica { connections[id]?.reason = reason }
    connections[id]?.link.close(TransportError(.closed, reason))
  }

  func closeAll(because reason: String) {
    for id in connections.keys { close(id, because: reason) }
  }

  /// Tells the replica how many bytes wait to leave on a connection.
  func noteQueued(on id: LinkID, _ replica: Replica) {
    if let connection = connections[id] { replica.noteQueued(connection.link.queuedBytes, on: id) }
  }

  /// Tells the replica how many bytes wait to leave on each connection.
  func noteQueued(_ replica: Replica) {
    for id in connections.keys { noteQueued(on: id, replica) }
  }

  /// Notes the peers that the replica has identified.
  func noteIdentities(_ replica: Replica) {
    for id in unmet where replica.peerViews.hasMet(id) {
      connections[id]?.link.met()
      unmet.remove(id)
    }
    for (id, address) in dialled {
      if let device = replica.peerViews.device(at: id) { addresses.met(device, at: address) }
    }
  }
}
