import MeshCore
import MeshReplication
import MeshTransport

/// The end of a connection: what a person is told, and the goodbye if a side said one.
struct ConnectionEnd: Sendable {
  let reason: String?
  var goodbye: Message.Goodbye?
}

/// The open connections, with the goodbyes that ended them.
final class Connections {
  private struct Connection {
    let link: Link
    var end: SessionEnd?
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

  func remove(_ id: LinkID) -> ConnectionEnd {
    let ended = connections.removeValue(forKey: id)
    unmet.remove(id)
    dialled[id] = nil
    return ConnectionEnd(
      reason: ended?.end?.reason ?? ended?.link.closeReason?.message, goodbye: ended?.end?.code)
  }

  /// Returns whether neither side has ended the connection.
  func isOpen(_ id: LinkID) -> Bool { connections[id].map { $0.link.closeReason == nil } ?? false }

  func send(_ bytes: [UInt8], to id: LinkID) { connections[id]?.link.send(bytes) }

  func close(_ id: LinkID, because reason: String) { connections[id]?.link.close(TransportError(.closed, reason)) }

  /// Ends the connection of a session that has ended. The goodbye counts for the dialler, even if the peer was faster.
  func close(_ id: LinkID, after end: SessionEnd) {
    connections[id]?.end = end
    close(id, because: end.reason)
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
