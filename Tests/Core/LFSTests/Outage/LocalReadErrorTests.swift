import Foundation
import GRDB
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@testable import LFS

@Suite("Unreadable local files", .timeLimit(.minutes(10)))
struct LocalReadErrorTests {
    enum Place: CaseIterable { case link, folder, loop }

    @Test("An unreadable local file fails alone and is not reported as an outage", arguments: Place.allCases)
    func inTheWay(_ place: Place) async throws {
        try await withLFS(expectsLeftovers: true) { host, lfs in
            let events = lfs.events(bufferingPolicy: .unbounded)
            lfs.pause()
            let bad = try await lfs.makeFile(from: .bytes(someBytes()))
            let good = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { db in for file in [bad, good] { try file.insert(db) } }
            try await yield(while: host.filesInStore().count < 2)
            let url = host.store.appendingPathComponent(bad.id.uuidString)
            try FileManager.default.removeItem(at: url)
            switch place {
            case .link:
                let other = host.folder.appendingPathComponent("other")
                try Data(someBytes()).write(to: other)
                try FileManager.default.createSymbolicLink(at: url, withDestinationURL: other)
            case .loop: try FileManager.default.createSymbolicLink(at: url, withDestinationURL: url)
            case .folder: try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
            }
            lfs.resume()
            let summary = try await lfs.waitForUploads()
            #expect(summary.failures.map(\.fileID) == [bad.id])
            #expect(summary.failures.map(\.code) == [.sourceUnreadable])
            #expect(try host.file(good.id)?.status == .remote)
            try await lfs.stop()
            for await event in events {
                if case .outage = event { Issue.record("The error counts as an outage: \(event)") }
            }
        }
    }
}
