import Dispatch
import Foundation
import GRDB
import LFS
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSBackup
@testable import LFSPhotos

@Suite("Photo libraries", .timeLimit(.minutes(10)))
struct PhotoSourceTests {
    private let library = SimulatedPhotoLibrary()

    private func source(_ groups: [BackupGroup]? = nil, allowsNetwork: Bool = false) -> PhotoSource {
        PhotoSource(library, groups: groups, allowsNetwork: allowsNetwork)
    }

    @discardableResult
    private func backUp(
        _ app: PhotoApp, groups: [BackupGroup]? = nil, allowsNetwork: Bool = false,
        onEvent: @escaping @Sendable (BackupEvent) -> Void = { _ in }
    ) async throws -> BackupReport {
        try await Backup(
            app.lfs, database: app.database, source: source(groups, allowsNetwork: allowsNetwork), groups: groups,
            host: app.host
        ).run(onEvent: onEvent)
    }

    private func file(_ id: String, of app: PhotoApp) async throws -> FileData? {
        try await app.database.read { db in
            try FileData.fetchOne(
                db, sql: "SELECT f.* FROM lfs_file f JOIN photo p ON p.fileId = f.id WHERE p.path = ?", arguments: [id])
        }
    }

    private func bytes(_ id: String, of app: PhotoApp) async throws -> [UInt8]? {
        guard let file = try await file(id, of: app), let contents = try await app.lfs.contents(of: file) else {
            return nil
        }
        var bytes: [UInt8] = []
        for try await chunk in contents { bytes += chunk }
        return bytes
    }

    private func items(_ groups: [BackupGroup]? = nil) throws -> [AssetItem] {
        var walk = try source(groups).makeWalk()
        var items: [AssetItem] = []
        while let item = walk.next() { items.append(item) }
        return items
    }

    private func assets(_ groups: [BackupGroup]? = nil) throws -> [Asset] {
        try items(groups).compactMap { if case .asset(let asset) = $0 { asset } else { nil } }
    }

    /// Returns the reasons of the originals that were reported as failed or unreadable.
    private func reasons(_ heard: Heard<BackupEvent>) -> [String] {
        heard.values.compactMap { event in
            switch event {
            case .failed(_, let reason), .unreadable(_, let reason): reason
            default: nil
            }
        }
    }

    // MARK: Bytes

    @Test("A photo is attached with its bytes and metadata, and is not read again")
    func attached() async throws {
        try await withPhotoApp { app in
            let bytes = someBytes(2_500)
            library.add("A/L0/001", bytes: bytes)
            let found = Heard<Asset>()
            let report = try await backUp(app) { if case .attached(let asset, _, _) = $0 { found.add(asset) } }
            #expect(report.attached == 1)
            let file = try #require(try await file("A/L0/001", of: app))
            #expect(file.name == "IMG_0001.HEIC" && file.contentType == "image/heic")
            #expect(try await self.bytes("A/L0/001", of: app) == bytes)
            let attributes = try #require(found.values.first?.photo)
            #expect(attributes.identifier == "A/L0/001" && attributes.kind == .image && !attributes.isPairedVideo)
            #expect(attributes.createdAt == SimulatedPhotoLibrary.start && attributes.pixelWidth == 4_032)
            #expect(try await backUp(app).unchanged == 1)
            #expect(library.reads == 1)
        }
    }

    @Test("An edited photo is attached as a new version with its former name")
    func edited() async throws {
        try await withPhotoApp { app in
            library.add("A", bytes: someBytes())
            try await backUp(app)
            let before = try #require(try await file("A", of: app))
            let edited = someBytes(1_500)
            library.edit("A", bytes: edited)
            #expect(try await backUp(app).attached == 1)
            let after = try #require(try await file("A", of: app))
            #expect(after.id != before.id && after.name == "IMG_0001.jpg" && after.contentType == "image/jpeg")
            #expect(try await bytes("A", of: app) == edited)
            #expect(try await backUp(app).unchanged == 1)
        }
    }

    @Test("A photo with another modification date and the same bytes is not uploaded again")
    func touched() async throws {
        try await withPhotoApp { app in
            library.add("A", bytes: someBytes())
            try await backUp(app)
            try await app.lfs.waitForUploads()
            library.touch("A")
            let report = try await backUp(app)
            #expect(report.touched == 1 && report.attached == 0)
            try await app.lfs.waitForUploads()
            #expect(app.storage.uploads == 1)
        }
    }

    @Test("The picture and the video of a Live Photo are two originals")
    func livePhoto() async throws {
        try await withPhotoApp { app in
            let (picture, video) = (someBytes(1_200), someBytes(3_400))
            library.add("A", bytes: picture, video: video)
            #expect(try await backUp(app).attached == 2)
            #expect(try await bytes("A", of: app) == picture)
            #expect(try await bytes("A#pairedVideo", of: app) == video)
            #expect(try await file("A#pairedVideo", of: app)?.name == "IMG_0001.MOV")
            #expect(try await file("A#pairedVideo", of: app)?.contentType == "video/quicktime")
            let attributes = try assets().compactMap(\.photo)
            #expect(attributes.map(\.isPairedVideo) == [false, true])
            #expect(Set(attributes.map(\.identifier)) == ["A"])
        }
    }

    @Test("The library is read as slowly as its bytes are used, one chunk ahead")
    func backPressure() async throws {
        let count = 50
        library.add("A", bytes: someBytes(count * SimulatedPhotoLibrary.chunkSize))
        let bytes = PhotoBytes(
            library: library, reference: PhotoReference(identifier: "A", part: .main), kind: .photo,
            allowsNetwork: false)
        var taken = 0
        for try await chunk in bytes {
            taken += 1
            #expect(chunk.count == SimulatedPhotoLibrary.chunkSize && library.givenChunks <= taken)
        }
        #expect(taken == count && library.cancellations == 0)
    }

    // MARK: Failures

    @Test("A photo that is only in iCloud is reported, or downloaded if that is allowed")
    func inCloud() async throws {
        try await withPhotoApp { app in
            let bytes = someBytes()
            library.add("A", bytes: bytes, isInCloud: true)
            library.add("B", bytes: someBytes())
            let heard = Heard<BackupEvent>()
            let report = try await backUp(app) { heard.add($0) }
            #expect(report.failed == 1 && report.attached == 1)
            #expect(reasons(heard).count == 1 && reasons(heard)[0].contains("only in iCloud"))
            #expect(try await backUp(app).failed == 1)
            #expect(try await backUp(app, allowsNetwork: true).attached == 1)
            #expect(try await self.bytes("A", of: app) == bytes)
        }
    }

    @Test("A photo that is deleted after the walk is reported, and the others continue")
    func deleted() async throws {
        try await withPhotoApp { app in
            for id in ["A", "B", "C"] { library.add(id, bytes: someBytes()) }
            let asset = try #require(try assets().first { $0.id == AssetName("C") })
            library.beforeRead { [weak library] id in if id == "A" { library?.delete("A") } }
            let heard = Heard<BackupEvent>()
            let report = try await backUp(app) { heard.add($0) }
            #expect(report.attached == 2 && report.failed == 1)
            #expect(reasons(heard).first?.contains("no longer in the photo library") == true)
            library.delete("C")
            let error = #expect(throws: BackupError.self) { try source().open(asset) }
            #expect(error?.code == .unreadable && error?.asset == asset.id)
            // The file of a deleted photo stays.
            #expect(try await backUp(app).unchanged == 1)
            #expect(try await app.count("photo") == 2)
        }
    }

    @Test("A photo that is edited during its read is not attached until the next backup")
    func editedDuringRead() async throws {
        try await withPhotoApp { app in
            let edited = someBytes()
            library.add("A", bytes: someBytes(3_000))
            library.beforeChunk { [weak library] index in if index == 1 { library?.edit("A", bytes: edited) } }
            let heard = Heard<BackupEvent>()
            let report = try await backUp(app) { heard.add($0) }
            #expect(report.failed == 1)
            #expect(reasons(heard).first?.contains("changed while it was read") == true)
            library.beforeChunk(nil)
            #expect(try await backUp(app).attached == 1)
            #expect(try await bytes("A", of: app) == edited)
        }
    }

    @Test("An error after some bytes attaches nothing, and the next backup tries again")
    func interrupted() async throws {
        try await withPhotoApp { app in
            let bytes = someBytes(3_000)
            library.add("A", bytes: bytes)
            for failure in [PhotoFailure.networkError, PhotoFailure(-1), PhotoFailure(7, domain: "Other")] {
                library.fail(failure)
                let heard = Heard<BackupEvent>()
                let report = try await backUp(app) { heard.add($0) }
                #expect(report.failed == 1)
                #expect(reasons(heard).first?.contains(failure.message) == true)
            }
            library.fail(nil)
            #expect(try await backUp(app).attached == 1)
            #expect(try await self.bytes("A", of: app) == bytes)
        }
    }

    @Test("A photo without bytes or without resources is reported")
    func empty() async throws {
        try await withPhotoApp { app in
            library.add("A", bytes: [])
            library.add("B", bytes: someBytes())
            library.removeResources(of: "B")
            let heard = Heard<BackupEvent>()
            let report = try await backUp(app) { heard.add($0) }
            #expect(report.failed == 2)
            #expect(reasons(heard).contains { $0.contains("no bytes") })
            #expect(reasons(heard).contains { $0.contains("no original") })
        }
    }

    @Test("A cancellation in the middle of a read ends the request, and attaches nothing")
    func cancelled() async throws {
        try await withPhotoApp { app in
            let (chunks, gate) = (EventLog<Int>(), DispatchSemaphore(value: 0))
            library.add("A", bytes: someBytes(9_000))
            library.beforeChunk { index in
                chunks.add(index)
                if index == 3 { gate.wait() }
            }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await #expect(throws: (any Error).self) { try await backUp(app) } }
                await chunks.wait { $0.contains(3) }
                group.cancelAll()
                await group.waitForAll()
            }
            #expect(library.cancellations == 1 && library.givenChunks == 3)
            gate.signal()
            #expect(try await app.count("photo") == 0)
            library.beforeChunk(nil)
            let report = try await backUp(app)
            #expect(report.attached == 1)
        }
    }

    // MARK: Access

    @Test("Without access a backup ends with an error that says what to do", arguments: [0, 1, 2])
    func noAccess(access: Int) async throws {
        library.allow(try #require(PhotoAccess(rawValue: access)))
        library.add("A", bytes: someBytes())
        let error = #expect(throws: BackupError.self) { _ = try source().makeWalk() }
        let advice = ["requestAuthorization", "does not allow", "in Settings"][access]
        #expect(error?.code == .unreadable && error?.message.contains(advice) == true)
    }

    @Test("With limited access the selected photos are attached, and keep their files")
    func limitedAccess() async throws {
        try await withPhotoApp { app in
            for id in ["A", "B", "C"] { library.add(id, bytes: someBytes()) }
            library.allow(.limited, selected: ["A", "B"])
            #expect(try await backUp(app).attached == 2)
            library.allow(.limited, selected: ["C"])
            let report = try await backUp(app)
            #expect(report.attached == 1 && report.failed == 0)
            #expect(try await app.count("photo") == 3)
            library.allow(.authorized)
            #expect(try await backUp(app).unchanged == 3)
        }
    }

    // MARK: Walks

    @Test("A library of 10,000 photos is looked up page by page, as the walk proceeds")
    func lazy() throws {
        for number in 0..<10_000 { library.add("\(number)", bytes: []) }
        var walk = try source().makeWalk()
        #expect(library.lookups == [])
        _ = walk.next()
        #expect(library.lookups == [PhotoWalk.pageCount])
        var names: Set<AssetName> = [AssetName("0")]
        // A photo that is deleted before its page is not an item.
        library.delete("9999")
        while let item = walk.next() { if case .asset(let asset) = item { names.insert(asset.id) } }
        #expect(names.count == 9_999 && library.lookups.count == 100)
    }

    @Test("Photos of an included album are walked, except those of an excluded album")
    func albums() throws {
        for id in ["A", "B", "C", "D"] { library.add(id, bytes: someBytes()) }
        library.setAlbum("holidays", members: ["A", "B", "A"])
        library.setAlbum("hidden", members: ["B"])
        library.setAlbum("family", members: ["A", "C"])
        let groups: [BackupGroup] = [
            .init("holidays", mode: .include), .init("hidden", mode: .exclude), .init("family", mode: .include),
            .init("none", mode: .none),
        ]
        let found = try assets(groups)
        #expect(found.map(\.id.description) == ["A", "C"])
        #expect(found.map(\.groups) == [["holidays", "family"], ["family"]])
        #expect(try assets([]).isEmpty)
        #expect(try assets().count == 4)
    }

    @Test("A missing excluded album is an error, and a missing included one is reported")
    func absentAlbums() throws {
        library.add("A", bytes: someBytes())
        library.setAlbum("holidays", members: ["A"])
        let error = #expect(throws: BackupError.self) {
            _ = try source([.init("holidays", mode: .include), .init("gone", mode: .exclude)]).makeWalk()
        }
        #expect(error?.code == .groupAbsent)
        let items = try items([.init("gone", mode: .include), .init("holidays", mode: .include)])
        #expect(items.first == .unreadable(AssetName("gone"), "there is no such album"))
        #expect(items.count == 2)
        library.allow(.limited, selected: ["A"])
        #expect(throws: BackupError.self) { _ = try source([.init("holidays", mode: .exclude)]).makeWalk() }
    }

    // MARK: Names and stamps

    @Test(
        "A file name from a library becomes a name without slashes and control characters",
        arguments: [
            ("IMG_0001.HEIC", "IMG_0001.HEIC"), ("", "photo.heic"), (".", "photo.heic"), ("..", "photo.heic"),
            ("...", "photo.heic"), (".jpg", "photo.jpg"), ("a", "a.heic"), ("../passwd", ".._passwd.heic"),
            ("../a/b.png", ".._a_b.png"), ("a/b.jpg", "a_b.jpg"), ("/", "_.heic"), ("a\u{0}b\n.png", "a_b_.png"),
            ("\u{202E}gpj.exe", "_gpj.exe"), ("a.b.c", "a.b.c"), ("a.b/c", "a.b_c.heic"), ("é.jpg", "é.jpg"),
            ("a.toolongextension", "a.toolongextension.heic"),
        ])
    func title(name: String, expected: String) {
        let resource = PhotoResource(kind: .photo, name: name, typeIdentifier: "public.heic")
        #expect(resource.title(from: name) == expected)
    }

    @Test("A very long file name is cut, and an unknown type without extension has none")
    func unusualNames() {
        let long = String(repeating: "x", count: 10_000) + ".mov"
        let video = PhotoResource(kind: .video, name: long, typeIdentifier: "com.example.unknown")
        #expect(video.title(from: long) == String(repeating: "x", count: 100) + ".mov")
        let nameless = PhotoResource(kind: .audio, name: "", typeIdentifier: "")
        #expect(nameless.title(from: "") == "audio" && nameless.contentType == nil)
    }

    @Test("Unusual dates and sizes have a stamp, and different ones differ")
    func stamps() {
        let dates: [Date?] = [
            nil, .distantPast, .distantFuture, Date(timeIntervalSince1970: .infinity),
            Date(timeIntervalSince1970: 0.1), Date(timeIntervalSince1970: 0.2),
        ]
        let stamps = dates.map { date in
            LibraryPhoto(
                attributes: PhotoAttributes(
                    identifier: "A", kind: .unknown, createdAt: nil, modifiedAt: date, duration: .nan,
                    pixelWidth: .min, pixelHeight: .max, isFavorite: false),
                resources: []
            ).stamp
        }
        #expect(Set(stamps).count == dates.count)
        for stamp in stamps { #expect(stamp.byteCount == nil && stamp.hasContent(of: stamp.text)) }
    }

    @Test("The id of an original leads to its photo and part")
    func references() {
        for part in PhotoPart.allCases {
            for identifier in ["A/L0/001", "", "#", "ü"] {
                let reference = PhotoReference(identifier: identifier, part: part)
                #expect(PhotoReference(reference.name) == reference)
            }
        }
        #expect(PhotoReference(AssetName(bytes: [0xFF])) == nil)
    }
}

@Suite("Channels for chunks", .timeLimit(.minutes(10)))
struct ChunkChannelTests {
    private struct Failure: Error {}

    @Test("All chunks arrive in order, and then the end")
    func order() async throws {
        let channel = ChunkChannel()
        BlockingPool.foreign.start {
            for byte in UInt8(0)..<100 { channel.put([byte]) }
            channel.finish()
        }
        var bytes: [UInt8] = []
        while let chunk = try await channel.next() { bytes += chunk }
        #expect(bytes == Array(0..<100))
        #expect(try await channel.next() == nil)
        #expect(!channel.close())
    }

    @Test("An error arrives after the chunks before it")
    func failure() async throws {
        let channel = ChunkChannel()
        BlockingPool.foreign.start {
            channel.put([1])
            channel.finish(Failure())
            channel.finish()
        }
        #expect(try await channel.next() == [1])
        await #expect(throws: Failure.self) { _ = try await channel.next() }
    }

    @Test("Closing wakes a thread that waits, and later chunks are dropped")
    func closed() async throws {
        let (channel, ended) = (ChunkChannel(), Latch())
        BlockingPool.foreign.start {
            for byte in UInt8(0)..<10 { channel.put([byte]) }
            channel.finish()
            ended.open()
        }
        #expect(try await channel.next() == [0])
        #expect(channel.close())
        await ended.wait()
    }

    @Test("A cancelled task does not wait for a chunk")
    func cancelled() async throws {
        let channel = ChunkChannel()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await #expect(throws: CancellationError.self) { _ = try await channel.next() } }
            group.cancelAll()
        }
        #expect(channel.close())
    }
}
