import Foundation

/// A probe of many sessions of one account with open streams. It measures the time from a commit until all of them
/// receive it. The server is another process.
package struct SyncLiveProbe: Sendable {
    package var server: String
    /// The folder in which ``SyncMaker`` has created the server's database with as many sessions.
    package var source: String
    package var sessions: Int
    package var commits: Int

    package init(server: String, source: String, sessions: Int, commits: Int) {
        self.server = server
        self.source = source
        self.sessions = sessions
        self.commits = commits
    }

    /// The number of existing rows of the account.
    package static let rows = 10
    private static let idle = 5.0

    package func run() async throws -> SyncLiveSample {
        try SyncSocket.allow(sessions)
        let tokens = try SyncMaker.tokens(in: source)
        let server = try SyncServerProcess(self.server, in: source, options: ["--requests-per-second", "100000"])
        defer { server.stop() }
        // Loads the code before memory is measured.
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

    /// - Returns: the time at which each socket received the text.
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
                    throw BenchError("The server ended a stream after \(socket.byteCount) bytes.")
                }
                return true
            }
        }
        return times
    }
}
