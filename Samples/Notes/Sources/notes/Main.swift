import Foundation
import LFS

@main
enum Main {
    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(error as? NotesError == .usage ? 64 : 1)
        }
    }

    static func run(_ arguments: [String]) async throws {
        guard arguments.count >= 2 else { throw NotesError.usage }
        let command = arguments[1]
        let operands = Array(arguments.dropFirst(2))
        let notebook = try await Notebook.open(in: URL(fileURLWithPath: arguments[0]))
        let result: Result<Void, any Error>
        do {
            result = .success(try await perform(command, operands: operands, in: notebook))
        } catch {
            result = .failure(error)
        }
        // Uploads under way end or go back to the queue.
        try await notebook.lfs.stop()
        try result.get()
    }

    private static func perform(_ command: String, operands: [String], in notebook: Notebook) async throws {
        switch (command, operands.count) {
        case ("add", 1...2):
            let file = operands.dropFirst().first.map { URL(fileURLWithPath: $0) }
            let note = try await notebook.add(text: operands[0], file: file)
            print("added note \(note.id ?? 0)")
        case ("list", 0):
            for info in try await notebook.list() {
                print(try await line(for: info, in: notebook))
            }
        case ("upload", 0):
            // An app starts the manager right after it was opened, and does not wait.
            try notebook.lfs.start()
            let summary = try await notebook.lfs.waitForUploads()
            for failure in summary.failures { print("\(failure.fileID): \(failure.reason)") }
            print("\(summary.failed) failed")
        case ("free", 1):
            try await notebook.free(id: try id(operands[0]))
        case ("read", 1):
            guard let data = try await notebook.read(id: try id(operands[0])) else {
                throw NotesError.notUploaded
            }
            try FileHandle.standardOutput.write(contentsOf: data)
        case ("show", 1):
            let data = try await notebook.show(id: try id(operands[0]))
            try FileHandle.standardOutput.write(contentsOf: data ?? Data())
        case ("delete", 1):
            try notebook.lfs.start()
            let pending = try await notebook.delete(id: try id(operands[0]))
            print("\(pending) deletions pending")
        default:
            throw NotesError.usage
        }
    }

    private static func id(_ text: String) throws -> Int64 {
        guard let id = Int64(text) else { throw NotesError.usage }
        return id
    }

    /// Describes a note. `debugDescription` escapes control characters, which could change the terminal's state.
    private static func line(for info: NoteInfo, in notebook: Notebook) async throws -> String {
        let start = "note \(info.note.id ?? 0): \(info.note.text.debugDescription)"
        guard let file = info.attachment else { return start }
        let name = (file.name ?? "").debugDescription
        let copy = try await notebook.lfs.hasLocalCopy(of: file.id) ? "local copy" : "no local copy"
        return "\(start), file \(name), \(file.byteCount) bytes, status \(file.status.rawValue), \(copy)"
    }
}
