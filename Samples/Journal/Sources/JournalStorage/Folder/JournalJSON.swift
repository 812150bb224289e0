import Foundation

/// The format of all files of a journal: sorted and indented, so that people and version control can read it.
enum JournalJSON {
    static func encoded(_ value: some Encodable, name: String) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            return try encoder.encode(value) + Data("\n".utf8)
        } catch {
            throw FileStorageError.encodingFailed(name: name, reason: .init(error))
        }
    }

    static func decoded<Value: Decodable>(_ type: Value.Type, data: Data, name: String) throws -> Value {
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch {
            throw FileStorageError.decodingFailed(name: name, reason: .init(error))
        }
    }
}
