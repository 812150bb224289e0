import Foundation
import GRDB

/// Looks into an uploader's database from outside.
enum TestDatabase {
    static func execute(_ sql: String, in file: URL) throws {
        let queue = try DatabaseQueue(path: file.path)
        try queue.write { try $0.execute(sql: sql) }
        try queue.close()
    }

    struct Entry { var path: String; var id: String; var status: String; var key: String }

    static func entries(in file: URL) throws -> [Entry] {
        let queue = try DatabaseQueue(path: file.path)
        let rows = try queue.read {
            try Row.fetchAll($0, sql: "SELECT d.path, f.id, f.status, f.key FROM document d JOIN lfs_file f ON f.id = d.fileId")
        }
        try queue.close()
        return rows.map { Entry(path: $0[0], id: $0[1], status: $0[2], key: $0[3]) }
    }

    static func count(_ sql: String, in file: URL) throws -> Int {
        let queue = try DatabaseQueue(path: file.path)
        let count = try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(sql)") ?? -1 }
        try queue.close()
        return count
    }
}
