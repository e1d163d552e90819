/// `motte salvage`: what can still be read of a damaged file, as JSON Lines.
import ArgumentParser
import Foundation
import MotteExchange
import MotteLiveObjects
import MotteStorage
import MotteValues

struct SalvageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "salvage",
        abstract: "Write every object of a damaged file that can be read as a line of JSON; losses go to stderr.")

    @ArgumentParser.Argument(help: "The file.") var file: String
    @Option(help: "Write there instead of standard output.") var output: String?
    @Flag(help: "Say on stderr how far it is.") var progress = false

    func run() throws {
        try reportingErrors {
            let target: FileHandle
            if let output {
                guard FileManager.default.createFile(atPath: output, contents: nil),
                    let opened = FileHandle(forWritingAtPath: output)
                else { throw DatabaseError(.permissionDenied, "could not write '\(output)'", path: output) }
                target = opened
            } else {
                target = .standardOutput
            }
            var options = DatabaseOptions(path: file)
            options.readOnly = true
            let database = try Database.open(options)
            let report = try SalvageLines.run(database, progress: progressLine(progress), to: writer(target))
            for loss in report.losses { FileHandle.standardError.write(Data("lost: \(loss)\n".utf8)) }
            FileHandle.standardError.write(Data("\(report.objects) objects, \(report.losses.count) losses\n".utf8))
        }
    }

    private func writer(_ target: FileHandle) -> (UnsafeRawBufferPointer) throws(DatabaseError) -> Void {
        { (bytes) throws(DatabaseError) in
            do { try target.write(contentsOf: Data(bytes)) } catch {
                throw DatabaseError(.inputOutput, "could not write the objects: \(error)")
            }
        }
    }
}
