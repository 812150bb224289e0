import Foundation
import GRDB
import LFS
import LFSStorage
import Testing

@Suite("Several processes on one database", .timeLimit(.minutes(10)))
struct ProcessesTests {
    @Test("One process uploads, and another takes over when the first ends")
    func takeOver() async throws {
        let first = InMemoryStorage()
        let second = InMemoryStorage()
        try await withHost(storage: first) { host in
            let other = try host.otherDatabase()
            var options = host.options
            options.storage = second
            let leader = try await LFSManager.open(host.database, options: host.options)
            try leader.start()
            // The lock is taken in the background. The upload shows that the leader has it.
            let sign = try await leader.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try sign.insert($0) }
            try await leader.waitForUploads()

            let follower = try await LFSManager.open(other, options: options)
            try follower.start()
            let file = try await follower.makeFile(from: .bytes(someBytes()))
            try await other.write { try file.insert($0) }
            try await follower.waitForUploads()
            #expect(first.keys.count == 2)
            #expect(second.keys.isEmpty)

            try await leader.stop()
            let next = try await follower.makeFile(from: .bytes(someBytes()))
            try await other.write { try next.insert($0) }
            try await follower.waitForUploads()
            #expect(second.keys.count == 1)
            try await follower.stop()
            try other.close()
        }
    }
}
