/// Why a command cannot do its job, in words for the person who ran it.
struct UploaderError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
