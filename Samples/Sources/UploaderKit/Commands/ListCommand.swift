import ArgumentParser
import Foundation
import GRDB
import LFS

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the attached files: id, status, size, path.")

    @OptionGroup var database: DatabaseOptions

    @Flag(name: .long, help: "Print one JSON object for each file.")
    var json = false

    func run() throws {
        try reportingErrors {
            var isWhole = true
            let (connection, table) = try DocumentDatabase.openForReading(database.database)
            try connection.read { db in
                for table in table.isOurs ? [table, .withoutDocument] : [table] {
                    try table.forEach(db) { result in
                        switch result {
                        case .success(let attached): try tell(attached)
                        case .failure(let row):
                            isWhole = false
                            Console.message("uploader: file \(row.fileID) cannot be listed: \(row.reason)")
                        }
                    }
                }
            }
            if !isWhole { throw ExitCode(3) }
        }
    }

    private func tell(_ attached: AttachedDocument) throws {
        let (document, file) = (attached.document, attached.file)
        if json {
            var event = JSONEvent("file")
            (event.id, event.path, event.bytes) = (file.id, document.path.description, file.byteCount)
            (event.status, event.url) = (file.status.rawValue, file.url?.absoluteString)
            Console.result(try event.jsonLine())
        } else {
            Console.result("\(file.id)  \(file.status.rawValue)  \(Format.bytes(file.byteCount))  \(document.path)")
        }
    }
}
