/// Why a command cannot do its job, in words for the person who ran it.
package struct UploaderError: Error, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}
