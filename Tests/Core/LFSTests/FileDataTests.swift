import Foundation
import GRDB
import LFS
import LFSStorage
import Testing

@Suite("Records of files", .timeLimit(.minutes(10)))
struct FileDataTests {
    @Test("A record and its file are read in one query")
    func association() async throws {
        struct RecipeInfo: Decodable, FetchableRecord {
            var recipe: Recipe
            var photo: FileData?
        }
        try await withLFS { host, lfs in
            let photo = try await lfs.makeFile(from: .bytes(someBytes()), name: "toast.jpg")
            try await host.database.write { db in
                try photo.insert(db)
                try Recipe(title: "Toast", photoId: photo.id).insert(db)
            }
            let statements = StatementLog()
            let info = try await host.database.read { db in
                db.trace(options: .statement) { statements.add("\($0)") }
                defer { db.trace() }
                return try Recipe.including(optional: Recipe.photo).asRequest(of: RecipeInfo.self).fetchOne(db)
            }
            #expect(info?.photo?.name == "toast.jpg")
            #expect(statements.selects == 1)
        }
    }

    @Test("A record encoded as JSON keeps its structure and survives a round trip")
    func codable() async throws {
        try await withLFS(expectsLeftovers: true) { _, lfs in
            let photo = try await lfs.makeFile(from: .bytes(someBytes()), name: "toast.jpg")
            let json = try JSONEncoder().encode(photo)
            let object = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
            #expect(object["id"] as? String == photo.id.uuidString)
            #expect(object["status"] as? String == "local")
            #expect(object["name"] as? String == "toast.jpg")
            #expect(try JSONDecoder().decode(FileData.self, from: json) == photo)
        }
    }

    @Test("A decoded record with an invalid size is refused", arguments: [-1, .min, .max, 1 << 51] as [Int64])
    func invalidSize(_ byteCount: Int64) async throws {
        try await withLFS(expectsLeftovers: true) { _, lfs in
            let photo = try await lfs.makeFile(from: .bytes(someBytes()))
            let json = String(decoding: try JSONEncoder().encode(photo), as: UTF8.self)
            let damaged = json.replacing("\"byteCount\":1000", with: "\"byteCount\":\(byteCount)")
            let error = #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(FileData.self, from: Data(damaged.utf8))
            }
            guard case .dataCorrupted(let context)? = error else {
                Issue.record("\(String(describing: error)) is another error.")
                return
            }
            #expect(context.codingPath.map(\.stringValue) == ["byteCount"])
        }
    }

    @Test("The update id is a version 7 UUID that ascends with every insert and update")
    func updateIDs() async throws {
        try await withLFS { host, lfs in
            lfs.pause()
            var seen: [String] = []
            var files: [FileData] = []
            for _ in 0..<50 { files.append(try await lfs.makeFile(from: .bytes(someBytes(1)))) }
            for file in files {
                try await host.database.write { try file.insert($0) }
                seen.append(try #require(try host.file(file.id)?.updateID))
                try await host.database.write { db in
                    try db.execute(sql: "UPDATE lfs_file SET name = 'new' WHERE id = ?", arguments: [file.id])
                }
                seen.append(try #require(try host.file(file.id)?.updateID))
            }
            #expect(seen == seen.sorted())
            #expect(Set(seen).count == 100)
            let pattern = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
            #expect(seen.allSatisfy { $0.wholeMatch(of: pattern) != nil })
            let milliseconds = try #require(Int64(seen[99].replacing("-", with: "").prefix(12), radix: 16))
            #expect(abs(Double(milliseconds) / 1_000 - Date().timeIntervalSince1970) < 600)
            lfs.resume()
        }
    }

    @Test("The update ids of more than 4,096 changes in a millisecond still ascend")
    func updateIDOverflow() async throws {
        try await withLFS { host, lfs in
            let file = try await lfs.makeFile(from: .bytes(someBytes(1)))
            try await host.database.write { db in
                try file.insert(db)
                // A stopped clock, far ahead of the present.
                try db.execute(sql: "UPDATE lfs_state SET updateMillisecond = 9999999999999, updateSequence = 4094")
                var last = ""
                for index in 0..<5 {
                    try db.execute(sql: "UPDATE lfs_file SET name = ?", arguments: ["\(index)"])
                    let next = try String.fetchOne(db, sql: "SELECT updateID FROM lfs_file") ?? ""
                    #expect(last < next)
                    last = next
                }
            }
        }
    }

    @Test("Saving a record from before the upload does not undo the upload")
    func staleSave() async throws {
        try await withLFS { host, lfs in
            var photo = try await lfs.makeFile(from: .bytes(someBytes()))
            let inserted = photo
            try await host.database.write { try inserted.insert($0) }
            try await lfs.waitForUploads()
            photo.name = "renamed.jpg"
            let stale = photo
            try await host.database.write { try stale.update($0) }
            let row = try #require(try host.file(photo.id))
            #expect(row.status == .remote)
            #expect(row.url != nil)
            #expect(row.name == "renamed.jpg")
        }
    }

    @Test(
        "The content of a row cannot be changed",
        arguments: ["key = 'a/b'", "byteCount = 1", "sha256 = '\(String(repeating: "0", count: 64))'"])
    func immutable(assignment: String) async throws {
        try await withLFS { host, lfs in
            let photo = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try photo.insert($0) }
            await #expect(throws: DatabaseError.self) {
                try await host.database.write { try $0.execute(sql: "UPDATE lfs_file SET \(assignment)") }
            }
        }
    }

    @Test("Requests find pending and offloaded files")
    func requests() async throws {
        try await withLFS { host, lfs in
            let photo = try await lfs.makeFile(from: .bytes(someBytes()))
            lfs.pause()
            try await host.database.write { try photo.insert($0) }
            #expect(try await host.database.read { try FileData.all().pending().fetchCount($0) } == 1)
            lfs.resume()
            try await lfs.waitForUploads()
            #expect(try await host.database.read { try FileData.all().offloaded().fetchCount($0) } == 1)
        }
    }

    @Test("An observation of the app sees the upload")
    func observation() async throws {
        try await withLFS { host, lfs in
            let photo = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try photo.insert($0) }
            let observation = ValueObservation.tracking { db in try FileData.all().offloaded().fetchCount(db) }
            for try await count in observation.values(in: host.database) where count == 1 { break }
            #expect(try host.file(photo.id)?.status == .remote)
        }
    }
}
