# A sous chef: takes over what is too hard, and asks what the task does not say.
prompt=$(cat)
case $BRIGADE_TASK in
US-002)
    echo "Bonjour" > salut.txt
    echo "<promise>COMPLETE</promise>"
    ;;
US-003)
    case $prompt in
    *Ada*)
        echo "Ada" > signature.txt
        echo "<promise>COMPLETE</promise>"
        ;;
    *)
        echo "<scope-question>Whose name signs the greeting?</scope-question>"
        ;;
    esac
    ;;
esac
