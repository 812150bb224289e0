import CoreMetrics
import Foundation
import LFSServer
import LFSServerPostgres
import LFSSyncServer
import MetricsText
import Synchronization

/// The series of a server that are computed when `/metrics` is read.
///
/// The mutex owns the counts of the last reading.
final class ServerMetrics: Sendable {
    private let text: TextMetrics
    private let parts: ServedParts
    private let connections: Connections
    private let certificate: ServerCertificate?
    private let counted = Mutex(SyncCounts())

    init(_ text: TextMetrics, parts: ServedParts, connections: Connections, certificate: ServerCertificate?) {
        self.text = text
        self.parts = parts
        self.connections = connections
        self.certificate = certificate
        set("lfs.build.info", to: 1, dimensions: [("version", ServerVersion.text)])
        set("process.start.time.seconds", to: Date().timeIntervalSince1970)
    }

    /// Returns all series in the text format of Prometheus.
    func current() async -> String {
        set("lfs.connections.open", to: Double(connections.count))
        if let expiry = certificate?.expiry {
            set("lfs.certificate.expiry.timestamp.seconds", to: expiry.timeIntervalSince1970)
        }
        for disk in parts.disks {
            // A disk that cannot be examined fails its check, which is a series as well.
            if let count = try? disk.available() {
                set("lfs.disk.available.bytes", to: Double(count), dimensions: [("use", disk.name)])
            }
        }
        if !parts.disks.isEmpty { set("lfs.disk.reserve.bytes", to: Double(parts.reserve)) }
        if let sync = parts.sync { update(sync) }
        if let pool = parts.postgres?.poolStatus { update(pool) }
        for (name, check) in await parts.readiness.report().checks {
            set("lfs.ready", to: check.status == "ok" ? 1 : 0, dimensions: [("check", name)])
        }
        return text.text()
    }

    private func update(_ sync: SyncService) {
        set("lfs.sync.streams.open", to: Double(sync.streamCount))
        let counts = sync.counts
        let before = counted.withLock { last in
            let before = last
            last = counts
            return before
        }
        add("lfs.sync.pushes", by: counts.pushes - before.pushes)
        add("lfs.sync.mutations", by: counts.applied - before.applied, dimensions: [("result", "applied")])
        add("lfs.sync.mutations", by: counts.conflicts - before.conflicts, dimensions: [("result", "conflict")])
        add("lfs.sync.mutations", by: counts.rejected - before.rejected, dimensions: [("result", "rejected")])
        add("lfs.sync.throttled", by: counts.throttled - before.throttled)
    }

    func update(_ pool: PostgresPoolStatus) {
        set("lfs.database.pool.limit", to: Double(pool.limit))
        set("lfs.database.pool.used", to: Double(pool.usedCount))
        set("lfs.database.pool.waiting", to: Double(pool.waitingCount))
    }

    private func set(_ label: String, to value: Double, dimensions: [(String, String)] = []) {
        text.makeMeter(label: label, dimensions: dimensions).set(value)
    }

    private func add(_ label: String, by count: Int, dimensions: [(String, String)] = []) {
        text.makeCounter(label: label, dimensions: dimensions).increment(by: Int64(count))
    }
}
