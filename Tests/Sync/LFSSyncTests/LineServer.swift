import Foundation
import GRDB
import LFSHTTP
import LFSSystem
import LFSWire
import Synchronization
import Testing

@testable import LFSSync

/// A server that sends prepared streams. Each stream gets the next script, and the last script repeats. The server
/// accepts all acks and refuses all pushes.
///
/// The mutex owns its state.
final class LineServer: HTTPTransport {
    private struct State {
        var scripts: [[UInt8]]
        var tokens: [SyncToken] = []
        var paths: [String] = []
        var pieceSize = 1 << 16
    }

    private let state: Mutex<State>
    private let byLine: Bool
    private let onPiece: @Sendable (Int) async throws -> Void

    /// Makes a server that sends one line at a time.
    ///
    /// - Parameters:
    ///   - scripts: the lines of each stream, without line ends.
    ///   - onPiece: a body that runs before each line except the first.
    convenience init(scripts: [[String]], onPiece: @escaping @Sendable (Int) async throws -> Void) {
        self.init(scripts: scripts, byLine: true, onPiece)
    }

    /// Makes a server that sends each stream in large pieces.
    ///
    /// - Parameter scripts: the lines of each stream, without line ends.
    convenience init(scripts: [[String]]) { self.init(scripts: scripts, byLine: false) { _ in } }

    private init(scripts: [[String]], byLine: Bool, _ onPiece: @escaping @Sendable (Int) async throws -> Void) {
        self.byLine = byLine
        self.onPiece = onPiece
        state = Mutex(State(scripts: scripts.map { Array(($0.joined(separator: "\n") + "\n").utf8) }))
    }

    /// Makes a server that sends the same bytes for each stream.
    ///
    /// - Parameter onPiece: a body that runs before each piece except the first.
    init(bytes: [UInt8], pieceSize: Int, onPiece: @escaping @Sendable (Int) async throws -> Void = { _ in }) {
        byLine = false
        self.onPiece = onPiece
        state = Mutex(State(scripts: [bytes], pieceSize: pieceSize))
    }

    /// The tokens that devices have acknowledged.
    var tokens: [SyncToken] { state.withLock(\.tokens) }
    /// The requested paths, in order.
    var paths: [String] { state.withLock(\.paths) }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        state.withLock { $0.paths.append(request.target) }
        func reply(_ status: Int) -> HTTPResponse {
            HTTPResponse(head: HTTPResponseHead(status: status, headers: [:]), body: [], bytesSent: 0)
        }
        if request.target == "/v1/sync/ack", case .bytes(let bytes) = request.body {
            let batch = try WireFormat.decode(SyncAckBatch.self, from: Data(bytes), limits: .reply)
            state.withLock { $0.tokens += batch.tokens }
            return reply(204)
        }
        guard request.target == "/v1/sync/stream", case .sink(let sink, _, _) = request.reply else {
            return reply(503)
        }
        let (bytes, size) = state.withLock { state in
            (state.scripts.count > 1 ? state.scripts.removeFirst() : state.scripts[0], state.pieceSize)
        }
        let pieces =
            byLine
            ? bytes.split(separator: UInt8(ascii: "\n")).map { Array($0) + [UInt8(ascii: "\n")] }
            : stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
        for (number, piece) in pieces.enumerated() {
            if number > 0 { try await onPiece(number) }
            try await BlockingPool.sinks.run { _ in try piece.withUnsafeBytes { try sink($0) } }
        }
        return reply(200)
    }

    func shutdown() async {}

    /// Returns a client of the server for a database.
    func client(
        _ database: any DatabaseWriter, lineClock: any Clock<Duration> = ContinuousClock()
    ) async throws -> SyncClient {
        var options = SyncOptions(server: try #require(URL(string: "https://sync.example")), token: { "t" })
        options.lineClock = lineClock
        options.transport = self
        return try await SyncClient.open(database, options: options)
    }

    // MARK: Lines

    /// Returns a token of the account's own scope unless the caller names another one.
    static func token(_ type: String, number: Int, scope: String = "account/me") -> String {
        "\(type)|\(scope)|0197b214-ba2c-7c71-89d1-\(String(1_000_000_000_000 + number).suffix(12))|0"
    }

    /// Returns the line of a row.
    ///
    /// - Parameter data: the members of the row other than its `id`, for example `"title":"x"`.
    static func row(
        _ type: String, number: Int, id: String, data: String = "", scope: String = "account/me"
    ) -> String {
        let named = scope == "account/me" ? "" : #""scope":"\#(scope)","#
        let members = data.isEmpty ? "" : "," + data
        return #"{"type":"\#(type)",\#(named)"ack":"\#(token(type, number: number, scope: scope))","#
            + #""data":{"id":"\#(id)"\#(members)}}"#
    }

    static func deletion(_ type: String, number: Int, id: String) -> String {
        let deleted = type.replacing("V1", with: "DeleteV1")
        return #"{"type":"\#(deleted)","ack":"\#(token(type, number: number))","data":{"id":"\#(id)"}}"#
    }

    static func reached(_ type: String, number: Int) -> String {
        #"{"type":"SyncAckV1","ack":"\#(token(type, number: number))"}"#
    }

    static let complete = #"{"type":"SyncCompleteV1","ack":"SyncCompleteV1|account/me||0","data":{"scopes":1}}"#
}
