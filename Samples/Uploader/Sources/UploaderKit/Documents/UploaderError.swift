/// An error with a message for the person who ran the command.
package struct UploaderError: Error, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}
