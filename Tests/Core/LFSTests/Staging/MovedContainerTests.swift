import Foundation
import GRDB
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@testable import LFS

/// Tests of an app whose container moves as a whole, as by an update, a restore or a run of the simulator.
@Suite("Moved containers", .timeLimit(.minutes(10)))
struct MovedContainerTests {
    /// The places in the container of a database's folder and a persistence location.
    enum Layout: CaseIterable, Sendable {
        case inFolderOfDatabase, inContainer

        var location: String {
            switch self {
            case .inFolderOfDatabase: "Library/Application Support/staging"
            case .inContainer: "Documents/staging"
            }
        }
    }

    private struct App {
        let container: URL
        let layout: Layout

        var location: URL { container.appendingPathComponent(layout.location) }
        var folder: URL { container.appendingPathComponent("Library/Application Support") }

        /// Runs a body with the database of the app, open.
        func withHost(_ storage: any RemoteStorage, _ body: (TestHost) async throws -> Void) async throws {
            for folder in [folder, location] {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            }
            let database = try TestHost.open(folder.child("recipes.sqlite").path)
            try TestHost.migrator.migrate(database)
            try await body(TestHost(folder: folder, database: database, storage: storage))
            try database.close()
        }

        func options(_ host: TestHost, namesLocation: Bool) -> LFSOptions {
            var options = host.options
            options.persistenceLocation = namesLocation ? location : nil
            return options
        }

        /// Makes a file and commits it without a promotion, as when a process is killed right after the commit.
        func leaveFile(_ storage: any RemoteStorage) async throws -> FileID {
            let made = EventLog<FileID>()
            try await withHost(storage) { host in
                try await withManager(host, options: options(host, namesLocation: true), starts: false) { lfs in
                    let file = try await lfs.makeFile(from: .bytes(someBytes()))
                    try await host.database.write { try file.insert($0) }
                    made.add(file.id)
                }
            }
            return made.events[0]
        }

        /// Expects that every file is uploaded from where it is, and that no folder is missed.
        func expectAll(_ ids: [FileID], storage: any RemoteStorage, namesLocation: Bool) async throws {
            try await withHost(storage) { host in
                try await withManager(host, options: options(host, namesLocation: namesLocation)) { lfs in
                    #expect(lfs.places.closed == [])
                    try await lfs.waitForUploads()
                    for id in ids {
                        try #expect(host.file(id)?.status == .remote)
                        try await #expect(lfs.data(of: id)?.count == 1_000)
                    }
                    let report = try await lfs.verify()
                    #expect(report.isClean)
                }
            }
        }
    }

    private func withApp(_ layout: Layout, _ body: (App, URL) async throws -> Void) async throws {
        try await withTemporaryFolder { root in
            let parent = root.appendingPathComponent("Containers/Data/Application")
            try await body(App(container: parent.child("11111111-1111-1111-1111-111111111111"), layout: layout), parent)
        }
    }

    @Test(
        "A container that was moved while the app was off keeps its staged files",
        arguments: Layout.allCases, [true, false])
    func moved(layout: Layout, namesLocation: Bool) async throws {
        let storage = InMemoryStorage()
        try await withApp(layout) { app, parent in
            var ids = [try await app.leaveFile(storage)]
            var current = app
            for number in 2...4 {
                let next = App(container: parent.child("\(number)"), layout: layout)
                try FileManager.default.moveItem(at: current.container, to: next.container)
                if number == 3 { ids.append(try await next.leaveFile(storage)) }
                try await next.expectAll(ids, storage: storage, namesLocation: namesLocation)
                current = next
            }
            try await current.withHost(storage) { host in
                try #expect(host.count("lfs_location") == 1)
            }
        }
    }

    @Test("A container that was restored on another device keeps its staged files", arguments: Layout.allCases)
    func restored(layout: Layout) async throws {
        let storage = InMemoryStorage()
        try await withApp(layout) { app, parent in
            let id = try await app.leaveFile(storage)
            let copy = App(container: parent.child("2"), layout: layout)
            try FileManager.default.copyItem(at: app.container, to: copy.container)
            try FileManager.default.removeItem(at: app.container)
            try await copy.expectAll([id], storage: storage, namesLocation: true)
        }
    }

    @Test("An older copy of a container that is put back loses no file", arguments: Layout.allCases)
    func olderCopy(layout: Layout) async throws {
        let storage = InMemoryStorage()
        try await withApp(layout) { app, parent in
            let first = try await app.leaveFile(storage)
            let backup = parent.deletingLastPathComponent().child("backup")
            try FileManager.default.copyItem(at: app.container, to: backup)
            let second = try await app.leaveFile(storage)
            try await app.expectAll([first, second], storage: storage, namesLocation: true)
            // The restored container has another id. The app makes files in it before and after another move.
            let restored = App(container: parent.child("2"), layout: layout)
            try FileManager.default.moveItem(at: backup, to: restored.container)
            let third = try await restored.leaveFile(storage)
            try await restored.expectAll([first, third], storage: storage, namesLocation: true)
            let moved = App(container: parent.child("3"), layout: layout)
            try FileManager.default.moveItem(at: restored.container, to: moved.container)
            let fourth = try await moved.leaveFile(storage)
            try await moved.expectAll([first, third, fourth], storage: storage, namesLocation: false)
        }
    }

    @Test("A location outside of the container stays in its place when the container moves")
    func outside() async throws {
        let storage = InMemoryStorage()
        try await withTemporaryFolder { root in
            let location = root.child("disk")
            let made = EventLog<FileID>()
            let app = App(container: root.child("app"), layout: .inFolderOfDatabase)
            try await app.withHost(storage) { host in
                var options = host.options
                options.persistenceLocation = location
                try await withManager(host, options: options, starts: false) { lfs in
                    let file = try await lfs.makeFile(from: .bytes(someBytes()))
                    try await host.database.write { try file.insert($0) }
                    made.add(file.id)
                }
            }
            let moved = App(container: root.child("moved"), layout: .inFolderOfDatabase)
            try FileManager.default.moveItem(at: app.container, to: moved.container)
            try await moved.expectAll(made.events, storage: storage, namesLocation: false)
        }
    }

    @Test("A location that is named through a link is the same as without the link")
    func link() async throws {
        let storage = InMemoryStorage()
        try await withApp(.inContainer) { app, parent in
            let link = parent.deletingLastPathComponent().child("link")
            try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: parent)
            let linked = App(container: link.child(app.container.lastPathComponent), layout: .inContainer)
            let ids = [try await linked.leaveFile(storage), try await app.leaveFile(storage)]
            try await app.expectAll(ids, storage: storage, namesLocation: false)
            try await app.withHost(storage) { host in
                try #expect(host.count("lfs_location") == 1)
            }
            // A folder that was used before and is missing is not created again, whichever way it is named.
            try FileManager.default.removeItem(at: app.location)
            try await app.withHost(storage) { host in
                try FileManager.default.removeItem(at: app.location)
                var options = host.options
                options.persistenceLocation = linked.location
                #expect(
                    await errorCode { _ = try await LFSManager.open(host.database, options: options) } == .folderAbsent)
            }
        }
    }
}
