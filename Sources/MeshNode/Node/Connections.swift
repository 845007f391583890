import MeshReplication
import MeshTransport

/// The open connections, with the reasons given for their end.
final class Connections {
  private struct Connection {
    let link: Link
    let dialled: HostPort?
    var isMet = false
    var reason: String?
  }

  private var connections: [LinkID: Connection] = [:]
  private var last: UInt64 = 0
  private let addresses: AddressBook

  init(_ addresses: AddressBook) { self.addresses = addresses }

  var isEmpty: Bool { connections.isEmpty }

  func add(_ link: Link, dialled: HostPort?) -> LinkID {
    last += 1
    connections[LinkID(last)] = Connection(link: link, dialled: dialled)
    if let dialled { addresses.answered(dialled) }
    return LinkID(last)
  }

  /// Returns the reason for the end of the removed connection.
  func remove(_ id: LinkID) -> String? {
    let ended = connections.removeValue(forKey: id)
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
    for (id, connection) in connections {
      if !connection.isMet, replica.hasMet(id) {
        connection.link.met()
        connections[id]?.isMet = true
      }
      if let address = connection.dialled, let device = replica.device(at: id) { addresses.met(device, at: address) }
    }
  }
}
