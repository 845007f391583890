import ArgumentParser
import Foundation

/// A plain socket on loopback that returns what it receives. It shows the least time of an exchange between two
/// processes.
struct Echo: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "echo", shouldDisplay: false)
  private static let size = 64

  func run() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard let port = Self.bind(listener), listen(listener, 1) == 0 else { throw Trouble("cannot listen on loopback") }
    Machine.say("\(port)")
    let peer = accept(listener, nil, nil)
    var buffer = [UInt8](repeating: 0, count: Self.size)
    while case let count = recv(peer, &buffer, buffer.count, 0), count > 0 { _ = Glibc.send(peer, buffer, count, 0) }
  }

  /// Returns the seconds of each exchange.
  static func roundTrips(_ workshop: Workshop, count: Int) throws -> [Double] {
    let program = try workshop.startSelf("echo")
    guard let port = program.line().flatMap({ UInt16($0) }) else { throw Trouble("the echo does not listen") }
    let peer = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(peer) }
    var address = loopback(port: port)
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(peer, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw Trouble("cannot connect on loopback") }
    var buffer = [UInt8](repeating: 0, count: size)
    return (0..<count).map { _ in
      Machine.time {
        _ = Glibc.send(peer, buffer, buffer.count, 0)
        _ = recv(peer, &buffer, buffer.count, Int32(MSG_WAITALL))
      }
    }
  }

  /// Binds a socket to a free port and returns the port.
  static func bind(_ socket: Int32) -> UInt16? {
    var address = loopback(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        Glibc.bind(socket, generic, length) == 0 && getsockname(socket, generic, &length) == 0
      }
    }
    return isBound ? UInt16(bigEndian: address.sin_port) : nil
  }

  private static func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }
}
