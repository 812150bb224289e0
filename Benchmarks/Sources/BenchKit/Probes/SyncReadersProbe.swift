import Foundation
import Synchronization

/// A probe of devices that read slowly, and of their effect on others. The server is another process.
package struct SyncReadersProbe: Sendable {
    package var server: String
    /// The folder in which ``SyncMaker`` has created the server's database with as many sessions.
    package var source: String
    package var readers: Int
    /// The bytes per second that each reader reads.
    package var rate: Int
    package var seconds: Double

    package init(server: String, source: String, readers: Int, rate: Int, seconds: Double) {
        self.server = server
        self.source = source
        self.readers = readers
        self.rate = rate
        self.seconds = seconds
    }

    /// The number of reads of each reader, and of syncs of another account, per second.
    private static let frequency = 50
    /// The number of steps per second. Some of the readers read in each step, because devices do not wait for each
    /// other.
    private static let turns = 1_000

    package func run() async throws -> SyncReadersSample {
        try SyncSocket.allow(readers)
        let tokens = try SyncMaker.tokens(in: source)
        let server = try SyncServerProcess(self.server, in: source, options: ["--requests-per-second", "100000"])
        defer { server.stop() }
        _ = try SyncSocket.stream(port: server.port, token: tokens[1]).whole()
        let port = server.port
        let alone = try await others(port, token: tokens[1])
        let before = try server.memory()
        let (begun, beginning) = AsyncStream<Void>.makeStream()
        let isOver = Atomic(false)
        async let reading = Self.read(
            port, tokens: tokens[2..<2 + readers], rate: rate, onBegin: { beginning.finish() },
            until: { isOver.load(ordering: .relaxed) })
        // The measurement starts after the start of all streams.
        for await _ in begun {}
        let beside: Latencies
        do {
            defer { isOver.store(true, ordering: .relaxed) }
            beside = try await others(port, token: tokens[1])
        }
        let read = try await reading
        return SyncReadersSample(
            readers: readers, readBytes: read.bytes, readSeconds: read.seconds, serverBytes: try server.memory().peak,
            extraBytes: try server.memory().peak - before.now, connections: try server.connections(), alone: alone,
            beside: beside)
    }

    /// Reads as many streams as there are tokens.
    ///
    /// - Returns: the bytes that arrived after `onBegin`, and the time.
    private static func read(
        _ port: UInt16, tokens: ArraySlice<String>, rate: Int, onBegin: () -> Void, until isOver: () -> Bool
    ) async throws -> (bytes: Int64, seconds: Double) {
        defer { onBegin() }
        let sockets = try tokens.map { try SyncSocket.stream(port: port, token: $0, buffer: 4_096) }
        let start = ContinuousClock.now
        var (turn, next) = (0, 0)
        var begun: (bytes: Int64, time: ContinuousClock.Instant)?
        func bytes() -> Int64 { sockets.map { Int64($0.byteCount) }.reduce(0, +) }
        while !isOver() {
            turn += 1
            if begun == nil, turn % turns == 0, sockets.allSatisfy({ $0.byteCount > 0 }) {
                begun = (bytes(), .now)
                onBegin()
            }
            while next < turn * sockets.count * frequency / turns {
                let socket = sockets[next % sockets.count]
                try socket.read(atMost: max(1, rate / frequency))
                socket.forget()
                guard !socket.isEnded else {
                    throw BenchError("A reader received all rows. Increase --rows or reduce --seconds.")
                }
                next += 1
            }
            try await Task.sleep(until: start + .seconds(Double(turn) / Double(turns)))
        }
        guard let begun else { throw BenchError("No reader received anything. Increase --seconds.") }
        return (bytes() - begun.bytes, (ContinuousClock.now - begun.time) / .seconds(1))
    }

    /// Measures sequential syncs of another account.
    private func others(_ port: UInt16, token: String) async throws -> Latencies {
        var latencies: [Double] = []
        let count = Int(seconds * Double(Self.frequency))
        let start = ContinuousClock.now
        for turn in 0..<count {
            let begin = ContinuousClock.now
            _ = try SyncSocket.stream(port: port, token: token).whole()
            latencies.append((ContinuousClock.now - begin) / .seconds(1))
            try await Task.sleep(until: start + .seconds(Double(turn + 1) / Double(Self.frequency)))
        }
        guard let latencies = Latencies(latencies) else {
            throw BenchError("Nothing was measured. Increase --seconds.")
        }
        return latencies
    }
}
