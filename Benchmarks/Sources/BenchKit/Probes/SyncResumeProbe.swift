import Foundation
import GRDB
import LFSSync

/// A probe of a device whose first sync is interrupted repeatedly. The server is another process.
package struct SyncResumeProbe: Sendable {
    package var server: String
    /// The folder in which ``SyncMaker`` has created the server's database.
    package var source: String
    /// The index of the account's session.
    package var session: Int
    /// The folder of the device's database.
    package var folder: String
    package var cuts: Int

    package init(server: String, source: String, session: Int, folder: String, cuts: Int) {
        self.server = server
        self.source = source
        self.session = session
        self.folder = folder
        self.cuts = cuts
    }

    package func run() async throws -> SyncResumeSample {
        let tokens = try SyncMaker.tokens(in: source)
        let server = try SyncServerProcess(server, in: source, options: ["--requests-per-second", "100000"])
        defer { server.stop() }
        let device = try SyncHost.open(in: folder)
        try await device.write { try $0.execute(sql: Self.watch) }
        let client = try await FirstSyncProbe.client(device, server: server, token: tokens[session + 2])
        var first: [Double] = []
        for cut in 0..<cuts {
            let before = try SyncHost.count(device)
            let start = ContinuousClock.now
            guard let seconds = try await cutOff(client, after: Self.pause(cut), since: start) else { break }
            first.append(seconds)
            guard try SyncHost.count(device) > before else { throw BenchError("A row was there and is not any more.") }
        }
        try await client.synchronize()
        await client.shutdown()
        let (rows, again) = try await device.read { db in
            (
                try Int.fetchOne(db, sql: "SELECT count(*) FROM note") ?? 0,
                try Int.fetchOne(db, sql: "SELECT count(*) FROM again") ?? 0
            )
        }
        // The first sync of all is not a resumption.
        guard first.count == cuts, let latencies = Latencies(Array(first.dropFirst())) else {
            throw BenchError("All rows arrived before the sync was cut off \(cuts) times. Increase --rows.")
        }
        return SyncResumeSample(rows: rows, cuts: cuts, repeated: again, firstRows: latencies)
    }

    /// Records rows that arrive although they exist, because those were sent twice.
    private static let watch = """
        CREATE TABLE again (id TEXT);
        CREATE TRIGGER again BEFORE INSERT ON note WHEN EXISTS (SELECT 1 FROM note WHERE id = NEW.id)
        BEGIN INSERT INTO again VALUES (NEW.id); END;
        """

    /// Returns the pause between the first rows and the interruption, so that the stream is interrupted at varying
    /// places.
    private static func pause(_ cut: Int) -> Duration { .microseconds(cut * 397 % 5_000) }

    /// Syncs until some rows have arrived and a pause has passed.
    ///
    /// - Returns: the seconds until the first rows, or nil if all rows have arrived.
    private func cutOff(
        _ client: SyncClient, after pause: Duration, since start: ContinuousClock.Instant
    ) async throws -> Double? {
        let (came, source) = AsyncStream<Double>.makeStream()
        let sync = Task {
            defer { source.finish() }
            try await client.synchronize { _ in source.yield((ContinuousClock.now - start) / .seconds(1)) }
        }
        var first: Double?
        for await seconds in came where first == nil {
            first = seconds
            try await Task.sleep(for: pause)
            sync.cancel()
        }
        switch await sync.result {
        case .success: return nil
        case .failure(is CancellationError): return first
        case .failure(let error): throw error
        }
    }
}
