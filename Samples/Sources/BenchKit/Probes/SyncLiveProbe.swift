import Foundation

/// Many sessions of one account, each with a stream that stays open, and how long a commit takes to all of them. The
/// server is another process.
package struct SyncLiveProbe: Sendable {
    package var server: String
    /// Where ``SyncMaker`` has made the server's database, with as many sessions.
    package var source: String
    package var sessions: Int
    package var commits: Int

    package init(server: String, source: String, sessions: Int, commits: Int) {
        (self.server, self.source, self.sessions, self.commits) = (server, source, sessions, commits)
    }

    /// Rows of the account before.
    package static let rows = 10
    private static let idle = 5.0

    package func run() async throws -> SyncLiveSample {
        try SyncSocket.allow(sessions)
        let tokens = try SyncMaker.tokens(in: source)
        let server = try SyncServerProcess(self.server, in: source, ["--requests-per-second", "100000"])
        defer { server.stop() }
        // So that the code is there before memory is looked at.
        _ = try SyncSocket.stream(port: server.port, token: tokens[0]).whole()
        let before = try server.memory().now
        let sockets = try tokens[2..<2 + sessions].map {
            try SyncSocket.stream(port: server.port, token: $0, isLive: true)
        }
        _ = try receive("SyncCompleteV1", on: sockets)
        let each = (try server.memory().now - before) / Int64(sessions)

        let cpu = try server.cpuSeconds()
        try await Task.sleep(for: .seconds(Self.idle))
        let idleShare = (try server.cpuSeconds() - cpu) / Self.idle

        var latencies: [Double] = []
        for commit in 0..<commits {
            sockets.forEach { $0.forget() }
            let start = ContinuousClock.now
            let number = Self.rows + commit
            _ = try SyncSocket(
                port: server.port, path: "push", token: tokens[0],
                body: SyncMaker.line(number, sequence: number + 1, title: "Note")
            ).whole()
            latencies += try receive("\"title\":\"Note \(number)\"", on: sockets).map { ($0 - start) / .seconds(1) }
        }
        guard let latencies = Latencies(latencies) else { throw BenchError("No commit was measured.") }
        return SyncLiveSample(
            sessions: sessions, bytesEach: each, idleCPUShare: idleShare, latencies: latencies)
    }

    /// - Returns: when each of the sockets had the word.
    private func receive(_ word: String, on sockets: [SyncSocket]) throws -> [ContinuousClock.Instant] {
        var left = sockets
        var times: [ContinuousClock.Instant] = []
        let end = ContinuousClock.now + .seconds(120)
        while !left.isEmpty {
            SyncSocket.wait(for: left, milliseconds: 1_000)
            guard ContinuousClock.now < end else {
                throw BenchError("\(left.count) of \(sockets.count) sessions have not heard of it after two minutes.")
            }
            left = try left.filter { socket in
                try socket.read()
                if socket.take(word) {
                    times.append(.now)
                    return false
                }
                guard !socket.isEnded else {
                    throw BenchError("The server has ended a stream: \(socket.byteCount) bytes.")
                }
                return true
            }
        }
        return times
    }
}

/// How devices read slowly, and what others feel of it. The server is another process.
package struct SyncReadersProbe: Sendable {
    package var server: String
    /// Where ``SyncMaker`` has made the server's database, with as many sessions.
    package var source: String
    package var readers: Int
    /// Bytes a second that each of them takes.
    package var rate: Int
    package var seconds: Double

    package init(server: String, source: String, readers: Int, rate: Int, seconds: Double) {
        (self.server, self.source) = (server, source)
        (self.readers, self.rate, self.seconds) = (readers, rate, seconds)
    }

    /// How often in a second each reader reads, and somebody else syncs.
    private static let frequency = 50

    package func run() async throws -> SyncReadersSample {
        try SyncSocket.allow(readers)
        let tokens = try SyncMaker.tokens(in: source)
        let server = try SyncServerProcess(self.server, in: source, ["--requests-per-second", "100000"])
        defer { server.stop() }
        _ = try SyncSocket.stream(port: server.port, token: tokens[1]).whole()
        let alone = try await others(server, tokens[1], reading: [])
        let before = try server.memory()
        let sockets = try tokens[2..<2 + readers].map {
            try SyncSocket.stream(port: server.port, token: $0, buffer: 4_096)
        }
        let beside = try await others(server, tokens[1], reading: sockets)
        guard !sockets.contains(where: \.isEnded) else {
            throw BenchError("The rows came to a reader's end: give more --rows, or less --seconds.")
        }
        return SyncReadersSample(
            readers: readers, readBytes: sockets.map { Int64($0.byteCount) }.reduce(0, +),
            serverBytes: try server.memory().peak, extraBytes: try server.memory().peak - before.now,
            connections: try server.connections(), alone: alone, beside: beside)
    }

    /// Syncs of another account, one after the other, while some read.
    private func others(_ server: SyncServerProcess, _ token: String, reading: [SyncSocket]) async throws -> Latencies {
        var latencies: [Double] = []
        let count = Int(seconds * Double(Self.frequency))
        let start = ContinuousClock.now
        for turn in 0..<count {
            for socket in reading {
                try socket.read(atMost: max(1, rate / Self.frequency))
                socket.forget()
            }
            let begin = ContinuousClock.now
            _ = try SyncSocket.stream(port: server.port, token: token).whole()
            latencies.append((ContinuousClock.now - begin) / .seconds(1))
            try await Task.sleep(until: start + .seconds(Double(turn + 1) / Double(Self.frequency)))
        }
        guard let latencies = Latencies(latencies) else { throw BenchError("Nothing was measured: more --seconds.") }
        return latencies
    }
}
